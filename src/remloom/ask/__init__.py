"""Questions in plain words: a model puts them into statements, and answers with citations."""
