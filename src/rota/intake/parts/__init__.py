"""From what was written to the model, part by part: amounts, selectors, taints and so on."""
