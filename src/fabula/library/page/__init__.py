"""A store in a browser: its server (FastAPI, the extra `web`), one page without a build step, clips that are cut of it.

server.py   addresses       desk.py   what they share: the store as it is now    catalogue.py   videos under keys
export.py   kept lists      cut.py    a stretch of a film as a file              previews.py    films made playable
page.html, page.css, page.js · player.js · kept.js
"""
