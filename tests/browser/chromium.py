"""Chromium without a window, driven by the DevTools protocol over a pair of pipes; no other library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
SECONDS = 300
"""How long to wait for anything: against hanging, however slow the machine is."""
KEY_CODES = {"Escape": 27, "Tab": 9, "Enter": 13}
"""Of keys that do something of their own by these numbers, such as closing dialogs."""


def find() -> str | None:
    """Return the program to start, or None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One running browser; leaving the block ends it and removes its profile."""

    def __init__(self, width: int = 1280, height: int = 800) -> None:
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        command = [
            str(find()),
            *OPTIONS,
            f"--user-data-dir={self._profile}",
            f"--window-size={width},{height}",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--no-sandbox")  # it refuses to start as root otherwise

        def place() -> None:  # the browser reads from 3 and writes to 4
            os.dup2(os.dup(to_read), 3)
            os.dup2(os.dup(to_write), 4)

        # Above 4 first, so that neither of the two is overwritten by the other.
        to_read, to_write = _above_four(to_read), _above_four(to_write)
        self._process = subprocess.Popen(
            [*command, "about:blank"],
            preexec_fn=place,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest, self._number = b"", 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(SECONDS)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Return the answer of a method of the protocol; events that arrive meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while True:
            answer = self._receive(until - time.monotonic())
            if answer.get("id") == self._number:
                break
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return dict(answer["result"])

    def drain(self) -> None:
        """Take in the events that have arrived."""
        while select.select([self._read], [], [], 0)[0]:
            self._receive(1)

    def _receive(self, seconds: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], max(0, seconds))[0]:
                raise TimeoutError(f"the browser has not answered for {SECONDS} s")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise EOFError("the browser has gone")
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        message = dict(json.loads(text))
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, url: str, first: str = "", *, width: int = 1280, height: int = 800) -> Tab:
        """Return a new tab at ``url``; the script ``first`` runs in it before anything else."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.resize(width, height)
        if first:
            tab.call("Page.addScriptToEvaluateOnNewDocument", source=first)
        tab.call("Page.navigate", url=url)
        tab.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")
        return tab


def _above_four(number: int) -> int:
    """Return a copy of a file descriptor that is larger than 4; the old one is closed."""
    import fcntl  # not on Windows

    copy = fcntl.fcntl(number, fcntl.F_DUPFD, 5)
    os.close(number)
    return copy


class Tab:
    """One page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer of a method of the protocol."""
        return self._browser.call(method, self._session, **params)

    def reload(self) -> None:
        """Load the page again; what it was before answers no more afterwards."""
        loaded = len(self.events("Page.loadEventFired"))
        self.call("Page.reload")
        until = time.monotonic() + SECONDS
        while len(self.events("Page.loadEventFired")) == loaded:
            if time.monotonic() > until:
                raise TimeoutError(f"not loaded after {SECONDS} s")
            time.sleep(0.02)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Return the value of ``expression`` once it is true."""
        until = time.monotonic() + SECONDS
        while not (value := self.evaluate(expression)):
            if time.monotonic() > until:
                raise TimeoutError(f"not true after {SECONDS} s: {expression}")
            time.sleep(0.02)
        return value

    def resize(self, width: int, height: int) -> None:
        """Give the page a window of this size, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.wait_for(f"innerWidth === {width} && innerHeight === {height}")

    def touch(self, width: int, height: int) -> None:
        """Become a phone with a screen of this size, in CSS pixels, that is touched."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2,
            mobile=True,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        self.wait_for(f"innerWidth === {width} && matchMedia('(pointer: coarse)').matches")

    def tap(self, x: float, y: float) -> None:
        """Touch a place with one finger, shortly."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def screenshot(self, path: str | os.PathLike[str]) -> None:
        """Write what is seen to ``path``, a PNG file."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def press(self, key: str, code: str = "", *, shift: bool = False) -> None:
        """Press and release a key, by the name that ``KeyboardEvent.key`` gives it."""
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        number = {"windowsVirtualKeyCode": KEY_CODES[key]} if key in KEY_CODES else {}
        common = {"key": key, "code": code or key, "modifiers": 8 * shift, **number}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Send a mouse event: "mouseMoved", "mousePressed", "mouseReleased", "mouseWheel"."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Click with the left button."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def events(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of all events of this name so far."""
        self._browser.drain()
        mine = [event for event in self._browser.events if event.get("sessionId") == self._session]
        return [event["params"] for event in mine if event["method"] == method]

    def complaints(self) -> list[str]:
        """Return all that the console would show: messages, errors, what was refused."""
        said = [json.dumps(event["args"]) for event in self.events("Runtime.consoleAPICalled")]
        thrown = [json.dumps(event["exceptionDetails"]) for event in self.events("Runtime.exceptionThrown")]
        logged = [json.dumps(event["entry"]) for event in self.events("Log.entryAdded")]
        return said + thrown + logged

    def requests(self) -> list[str]:
        """Return the addresses of everything that the page has asked for."""
        return [str(event["request"]["url"]) for event in self.events("Network.requestWillBeSent")]
