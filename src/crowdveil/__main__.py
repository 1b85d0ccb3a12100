"""`python -m crowdveil`."""

from crowdveil.cli.main import main

main()
