"""Turn columns of a table into features: numbers, categories, words, dates, bags of items."""
