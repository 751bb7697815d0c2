"""A document as lines: its text, headings, outline and pages."""
