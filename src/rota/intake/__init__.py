"""Reads what people and other systems wrote into the model, with errors that name file, line and field.

`document` turns a YAML or JSON file into plain data with positions, `convert` turns plain data into typed
records; what the fields mean is the business of the modules beside them. Called by the command line.
"""
