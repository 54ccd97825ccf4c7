"""Speech in films: what is said, from when to when, from subtitles or by a recogniser that stays silent when unsure.

import fabula
(transcript,) = fabula.transcribe("film.mp4")          needs fabula[speech] where the film has no subtitles
"""
