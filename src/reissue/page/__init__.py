"""The steward's page (`reissue serve`): a series seen, extended and audited in a browser on the same machine.

Handlers are thin: whatever they do, the command line does through the same calls. Needs the extra `page`.
"""

from __future__ import annotations

from reissue.page.serving import serve

__all__ = ["serve"]
