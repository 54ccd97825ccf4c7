"""Films whose pictures hold their own clock, events and people, and an endpoint that reads them: for tests of asking.

    code.py    a picture as bits: when it is, which event it belongs to, who is in it; read back after JPEG and resizing
    film.py    films of such pictures, and what a right answer about them is
    server.py  the endpoint that sees: it answers from the pixels and the times that it receives, and from nothing else

Right frames with right times give the right answer exactly; a frame that is half a second off, half a second of error.
Such films test programs. They say nothing of how well a model understands video.
"""
