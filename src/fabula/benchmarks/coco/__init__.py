"""COCO captions."""
