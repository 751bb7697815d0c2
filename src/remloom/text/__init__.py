"""What is known of texts alone: scripts, terms, sentences, languages, and the dates written in them."""
