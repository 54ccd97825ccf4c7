"""A stand-in for the published file, in words of our own: the same places to fill, so that its reader can be tried."""

import json


class Checklist_Score:  # noqa: N801  (as it is called there)
    def _build_prompt(self, keypoints_by_dim, pred_caption):
        def fmt_dim(dk):
            return json.dumps(keypoints_by_dim.get(dk, []), ensure_ascii=False)

        prompt = f"""Count the points that are told.
{{"detail": {fmt_dim("segment_detail_caption")}, "background": {fmt_dim("video_background")}}}
{{"sounds": {fmt_dim("acoustics_content")}, "style": {fmt_dim("shooting_style")}}}
{{"speech": {fmt_dim("speech_content")}, "camera": {fmt_dim("camera_state")}}}
told: {self._norm_text(pred_caption)}
"""
        return prompt
