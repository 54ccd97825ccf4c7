"""Sentences through a published encoder: BERT's and RoBERTa's arithmetic in numpy, weights from a folder of the user's.

encoder.py   tokens → a vector each, after any layer
model.py     a folder, or a name that a package carries → an encoder, opened once
"""
