"""What can be configured: by flags of `crowdveil serve`, or by the environment, as CROWDVEIL_NAME."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from crowdveil.service.store.database import default_url


class Settings(BaseSettings):
    """Settings of a server process."""

    model_config = SettingsConfigDict(env_prefix="CROWDVEIL_", extra="ignore", frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    database: str = Field(default_factory=default_url, repr=False)  # may hold a password
    processes: int = Field(default=1, ge=1, le=64)
    proxies: str = Field(
        default="127.0.0.1", description="Addresses of reverse proxies whose headers are believed."
    )
    requests_per_minute: int = Field(default=1200, ge=1, description="Of one address.")
    reports_per_minute: int = Field(default=60_000, ge=1, description="Of one address.")
    sign_ins_per_minute: int = Field(default=10, ge=1, description="Of one address.")
    body_bytes: int = Field(
        default=2**20, ge=1024, description="Of a request or a line; batches have their own."
    )
    batch_bytes: int = Field(default=2**25, ge=1024)
    waiting_bytes: int = Field(
        default=2**28,
        ge=1024,
        description="Of all large bodies that wait in one process; an address has a quarter.",
    )
    connections: int = Field(default=1000, ge=1, description="Of one process, at once.")
    batch_lines: int = Field(default=10_000, ge=1)
    demo: bool = Field(default=False, description="Set by --demo: pages say that people are simulated.")
    worker: bool = Field(default=True, description="Whether this server stands for the background work.")
