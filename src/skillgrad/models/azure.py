"""OpenAI's models at Azure, through the interface whose address ends in /openai/v1."""

import os
from urllib.parse import urlsplit, urlunsplit

from skillgrad.config import ModelSection
from skillgrad.errors import ConfigError
from skillgrad.models.openai import OpenAIInterface
from skillgrad.models.sdk import shown_address


class AzureModel(OpenAIInterface):
    """A deployment at Azure. The address is `base_url`, else AZURE_OPENAI_ENDPOINT: of the resource, as in
    `https://NAME.openai.azure.com`, or of its interface, ending in `/openai/v1`. The key is in AZURE_OPENAI_API_KEY,
    or printed by `api_key_command`, which may print an access token as well.

    Args:
        name: the name of the deployment.

    Raises:
        ConfigError: no address, no key, or thinking is switched where there is no switch.
    """

    def __init__(self, name: str, settings: ModelSection) -> None:
        address = settings.base_url or os.environ.get("AZURE_OPENAI_ENDPOINT")
        if not address:
            raise ConfigError(
                f"azure:{name} has no address",
                hint="set base_url to that of the resource, as in https://NAME.openai.azure.com",
            )
        super().__init__("azure", name, settings, _interface(address), at_openai=True)


def _interface(address: str) -> str:
    shown_address(address)
    parts = urlsplit(address)
    return address if parts.path.strip("/") else urlunsplit(parts._replace(path="/openai/v1"))
