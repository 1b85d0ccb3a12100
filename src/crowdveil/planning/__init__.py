"""What to expect before anybody is asked: parameters, errors and costs from public numbers alone."""
