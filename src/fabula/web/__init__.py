"""Shared parts of the small servers: binding, access checks, rate limits, and files sent in ranges.

Plain ASGI: nothing here knows what is served. FastAPI and uvicorn come with the extra `web`.
"""
