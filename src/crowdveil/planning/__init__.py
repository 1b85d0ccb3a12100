"""Planning before any data are collected: parameters, errors and costs from public numbers alone."""
