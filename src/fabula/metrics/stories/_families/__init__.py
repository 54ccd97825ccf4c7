"""What several story metrics share, a family a file: captions of pairs that overlap (localised), merged predictions.

localised.py, overlap_pairs.py   the DVC_ metrics: pairs that overlap enough, and what their words score
merged.py                        SODA_m and MergedPRF: predictions merged around anchors
"""
