"""Summaries as JSON values; documents of text, tables and charts as HTML and Markdown; plots."""
