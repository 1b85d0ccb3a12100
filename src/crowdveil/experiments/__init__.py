"""The experiments of the papers, reproduced and extended; `crowdveil reproduce` runs them."""
