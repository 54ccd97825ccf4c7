"""LSMDC and MICap."""
