"""A campaign over HTTP: its public document, places and reports, with patience.

Connections are encrypted and verified by the rules of the system wherever the address says https. Redirects
are not followed: answers go where their owner said. Neither errors nor logs hold a token, a name or a value.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from crowdveil.campaigns.campaign import Campaign
from crowdveil.campaigns.portions import portions
from crowdveil.client.address import WANTED, Address
from crowdveil.client.patience import OnWait, Patience, retry_after
from crowdveil.errors import InputError, MissingExtra, ParameterError
from crowdveil.plain_data import parse_json
from crowdveil.version import __version__

if TYPE_CHECKING:
    from crowdveil.client.limits import Limits
    from crowdveil.client.memory import Memory

try:
    import httpx
except ImportError:
    raise MissingExtra("this needs httpx: pip install 'crowdveil[client]'") from None

PATIENCE = 300.0  # seconds
TIMEOUT = 60.0  # seconds for a single answer
MOST_LINES = 1000  # of a batch
MOST_BYTES = 2**18  # of a batch, unless a single line is longer: servers do not wait long for a body
MOST_READ = 2**26  # bytes of an answer
TRANSIENT = frozenset({429, 500, 502, 503, 504})
SPLIT = frozenset({408, 413})
NDJSON = "application/x-ndjson"
_PROBLEM = "urn:crowdveil:problem:"
_CODE = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True)
class Published:
    """A campaign as its server publishes it now."""

    id: str
    state: str
    wave: int
    campaign: Campaign


@dataclass(frozen=True)
class LineAnswer:
    """What the server says to a line of a batch."""

    status: int
    said: Mapping[str, Any]
    again: bool = False  # whether it may have been the answer to an earlier attempt that got lost

    @property
    def problem(self) -> str:
        """The code of the problem, in letters that can be shown."""
        code = str(self.said.get("type", "")).removeprefix(_PROBLEM)
        return code if _CODE.fullmatch(code) else f"status-{self.status}"


@dataclass(frozen=True)
class _Reply:
    status: int
    body: bytes
    attempts: int


class CampaignClient:
    """Speaks with the server of one campaign.

    Parameters
    ----------
    url:
        The participants' page, http://HOST/c/ID, or the API, http://HOST/api/v1/campaigns/ID.
    patience:
        For how many seconds to try again where the server does not answer or is too busy, without progress.
    timeout:
        For how many seconds to wait for a single answer.
    on_wait:
        Called with the reason for a wait, and its seconds.

    """

    def __init__(
        self, url: str, *, patience: float = PATIENCE, timeout: float = TIMEOUT, on_wait: OnWait | None = None
    ) -> None:
        self.address = Address.of(url)
        try:
            httpx.URL(self.address.api)
        except httpx.InvalidURL:
            raise ParameterError(WANTED) from None
        self._patience = Patience(patience, on_wait)
        self._http = httpx.Client(
            timeout=timeout,
            follow_redirects=False,
            headers={"User-Agent": f"crowdveil/{__version__}"},
        )

    def close(self) -> None:
        """Close connections."""
        self._http.close()

    def __enter__(self) -> CampaignClient:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def fetch(self) -> Campaign:
        """The campaign; `InputError` if it promises something else than its mechanism holds."""
        return self.look().campaign

    def look(self) -> Published:
        """The campaign, its state and the wave that is open."""
        self._patience.renew()
        reply = self._exchange("GET", self.address.api)
        if reply.status == 404:
            raise InputError("there is no such campaign on this server")
        if reply.status != 200:
            raise InputError(f"the server refuses to show the campaign ({_whole(reply).problem})")
        document = _json(reply.body)
        campaign = Campaign.from_dict(document)
        state, wave = document.get("state"), document.get("wave")
        if document.get("id") != self.address.campaign or type(wave) is not int or type(state) is not str:
            raise InputError("the server shows another campaign than it was asked for")
        if not 1 <= wave <= campaign.waves and state == "open":
            raise InputError("the server asks in a wave that the campaign's promise does not count")
        return Published(self.address.campaign, state, wave, campaign)

    def answer(
        self,
        answer: Mapping[str, Any],
        *,
        memory: Memory,
        person: str,
        participant: str | None = None,
        limits: Limits | None = None,
        distinct_names: bool = False,
    ) -> str:
        """Draw and send the report of one person, once in each wave; what became of it.

        "accepted", or the code of the problem for which it was refused: "another-name", without a draw, where
        the token or a name written alike has a report under another name, else the server's. The same person
        is never answered for with fresh noise: what the memory holds is sent, whatever `answer` says.

        Parameters
        ----------
        answer:
            Values by object, or by column for records.
        memory:
            Where the report is kept before it is sent.
        person:
            A name, which does not leave this machine.
        participant:
            The person's invitation; in open campaigns a token is made up.
        limits:
            What the campaign may cost at most.
        distinct_names:
            Whether names that differ only by case or blanks are known to be those of different people.

        """
        from crowdveil.client.delivery import Delivery, Person
        from crowdveil.client.limits import Limits

        published = self.look()
        (limits or Limits()).check(published.campaign)
        delivery = Delivery(self, published, memory, distinct_names=distinct_names)
        delivery.deliver([Person(person, answer, participant)])
        return next(iter(delivery.tally.reasons), "accepted")

    # --- batches -------------------------------------------------------------------------------------------

    def batch(self, what: str, lines: Sequence[bytes]) -> list[LineAnswer]:
        """The answer to each line that is sent to "places" or "reports"; none of them is a transient one."""
        self._patience.renew()
        answers = [
            self._portion(f"{self.address.api}/{what}/batch", part)
            for part in portions(lines, MOST_LINES, MOST_BYTES)
        ]
        return [answer for part in answers for answer in part]

    def _portion(self, url: str, lines: Sequence[bytes]) -> list[LineAnswer]:
        answers: dict[int, LineAnswer] = {}
        waiting, again = list(range(len(lines))), False
        while waiting:
            sent = [lines[at] for at in waiting]
            reply = self._exchange("POST", url, b"\n".join(sent) + b"\n")
            again = again or reply.attempts > 1
            if reply.status in SPLIT and len(lines) > 1:  # too many at once, for the server or for the way
                return self._in_halves(url, lines)
            if reply.status == 413:
                return [_whole(reply)]
            if reply.status == 408:
                self._patience.wait("the server does not wait for a slow connection")
                continue
            if reply.status != 200:
                raise InputError(f"the server refuses reports ({_whole(reply).problem})")
            said = _lines(reply.body, len(sent), again=again)
            answers |= {at: one for at, one in zip(waiting, said, strict=True) if one.status not in TRANSIENT}
            left = [at for at in waiting if at not in answers]
            if len(left) < len(waiting):
                self._patience.renew()
            if left:
                self._patience.wait("the server is too busy")
            waiting, again = left, True
        return [answers[at] for at in range(len(lines))]

    def _in_halves(self, url: str, lines: Sequence[bytes]) -> list[LineAnswer]:
        """The same in two requests; whatever was answered before is only answered again."""
        half = len(lines) // 2
        return [*self._portion(url, lines[:half]), *self._portion(url, lines[half:])]

    # --- single requests -----------------------------------------------------------------------------------

    def _exchange(self, method: str, url: str, content: bytes | None = None) -> _Reply:
        """An answer that is not transient, and the number of attempts that it took."""
        headers = {} if content is None else {"Content-Type": NDJSON}
        attempts = 0
        while True:
            attempts += 1
            asked = None
            try:
                with self._http.stream(method, url, content=content, headers=headers) as response:
                    status, body = response.status_code, _body(response)
                    asked = retry_after(response.headers.get("Retry-After"))
            except (httpx.TransportError, httpx.DecodingError) as error:
                why = _unreachable(error)
            else:
                if 300 <= status < 400:
                    raise InputError("the server sends us to another address: redirects are not followed")
                if status not in TRANSIENT:
                    return _Reply(status, body, attempts)
                why = f"the server is not available now (status {status})"
            self._patience.wait(why, asked)


def _body(response: httpx.Response) -> bytes:
    """All of an answer, if it is not endless."""
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > MOST_READ:
            raise InputError("the server's answer is too long")
    return b"".join(parts)


def _unreachable(error: Exception) -> str:
    """Why there is no answer; raises `InputError` where waiting does not help."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise InputError("the server's certificate is not valid: nothing was sent") from None
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.UnsupportedProtocol | httpx.ProxyError):
        raise InputError("the server cannot be reached: look at the address and the proxy") from None
    return "the server does not answer"


def _lines(body: bytes, count: int, *, again: bool) -> list[LineAnswer]:
    """The answers to so many lines."""
    said = [_json(line) for line in body.split(b"\n") if line.strip()]
    if len(said) != count or not all(isinstance(one, dict) for one in said):
        raise InputError("the server did not answer to each line of a batch")
    return [LineAnswer(status if type(status := one.get("status")) is int else 0, one, again) for one in said]


def _whole(reply: _Reply) -> LineAnswer:
    """The problem that is the answer to a whole request."""
    try:
        said = _json(reply.body)
    except InputError:
        said = None
    return LineAnswer(reply.status, said if isinstance(said, dict) else {})


def _json(body: bytes) -> Any:
    try:
        return parse_json(body.decode())
    except (ValueError, RecursionError):
        raise InputError("the server's answer cannot be read: is this the address of a campaign?") from None
