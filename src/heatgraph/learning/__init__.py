"""From labelled nodes to a classifier: scaling, search, softmax regression, explanations."""
