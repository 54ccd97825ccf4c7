"""Data: annotation, studies with people, formats, bundles for challenge servers."""
