"""What a person asks for, whole: check, charge, draw, write, complete. One file for each verb.

Commands parse options and print results; the service parses requests and sends results. Both call an
operation. Nothing above an operation touches a method, the ledger and a file together, and nothing below one
knows all three. The order of charging, drawing and writing is in one function, `spending.spend`.
"""
