"""What every small server of ours needs: where it is bound, who may ask, how often, and files sent in parts.

Plain ASGI: nothing here knows what is served. FastAPI and uvicorn come with the extra `web`.
"""
