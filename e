crowdveil: error: --sparsity goes with reports of lp and slots
