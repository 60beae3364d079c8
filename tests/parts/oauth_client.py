"""The official Python client, which signs in by OAuth: calls in, JSON lines out. Run by .parts/py/bin/python.

python oauth_client.py [--mode auto|legacy|2026-07-28] [--client ID] URL WHO TOOL...
Without an id the client registers itself. With BEARER in the environment it has a token already.
A person who signs in as WHO, and agrees to everything, stands in for the browser. One line out for each tool that is
called: its text, or the error. The last line has the scopes that were asked for each time somebody had to sign in.
"""

import argparse
import asyncio
import json
import os
import re
import sys
from typing import Any  # results are JSON
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

CALLBACK = "http://127.0.0.1:47811/callback"


class Person:
    """Signs in where a browser would show the pages of the authorization server."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._back = ""
        self.asked: list[str] = []

    async def visit(self, url: str) -> None:
        self.asked.append(parse_qs(urlsplit(url).query).get("scope", [""])[0])
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(url)
            for _ in range(20):
                location = response.headers.get("location")
                if location is not None:
                    url = urljoin(url, location)
                    if url.startswith(CALLBACK):
                        self._back = url
                        return
                    response = await browser.get(url)
                    continue
                action = re.search(r'<form[^>]* action="([^"]+)"', response.text)
                assert action is not None, response.text
                prompt = re.search(r'name="prompt" value="(\w+)"', response.text)
                assert prompt is not None, response.text
                url = urljoin(url, action[1])
                form = {"prompt": prompt[1], "login": self._name, "password": "any"}
                response = await browser.post(url, data=form)
        raise AssertionError("the authorization server never came back")

    async def come_back(self) -> AuthorizationCodeResult:
        given = {name: values[0] for name, values in parse_qs(urlsplit(self._back).query).items()}
        assert "code" in given, given
        return AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))


class Memory:
    """What the client keeps, for as long as this runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--client")
    parser.add_argument("url")
    parser.add_argument("who")
    parser.add_argument("tools", nargs="*")
    args = parser.parse_args()
    person = Person(args.who)
    metadata = OAuthClientMetadata(client_name="tests", redirect_uris=[AnyUrl(CALLBACK)])
    memory = Memory()
    if args.client:
        memory.client = OAuthClientInformationFull(client_id=args.client, redirect_uris=[AnyUrl(CALLBACK)])
    auth = OAuthClientProvider(args.url, metadata, memory, person.visit, person.come_back)
    bearer = os.environ.get("BEARER")
    given = {"headers": {"Authorization": f"Bearer {bearer}"}} if bearer else {"auth": auth}
    async with httpx2.AsyncClient(timeout=30, **given) as browser:
        transport: Any = streamable_http_client(args.url, http_client=browser)
        async with Client(transport, mode=args.mode) as client:
            for name in args.tools:
                try:
                    result = await client.call_tool(name, {})
                    say({"text": result.content[0].text, "is_error": bool(result.is_error)})  # type: ignore[union-attr]
                except Exception as problem:  # noqa: BLE001 - whatever it is, the test reads it
                    say({"error": f"{type(problem).__name__}: {problem}"})
    say({"asked": person.asked})


def say(line: Any) -> None:  # Any: JSON
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


asyncio.run(main())
