"""Files of a sandbox."""

from __future__ import annotations

import os
import pathlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import BinaryIO

import msgspec

from .. import _aio as aio
from .. import models
from .._wire import BROKEN, Bytes, bytes_of, condition, mode_of, path_of, range_of
from ..errors import InvalidArgumentError, UnavailableError
from .client import AsyncYurt
from .transport import AsyncAnswer

_CHUNK = 1 << 20  # bytes of one step of an upload or download
Progress = Callable[[int, "int | None"], object]


class AsyncFiles:
    """Files by path, relative to /workspace. A path that is not there raises NotFoundError."""

    def __init__(self, client: AsyncYurt, session_path: str) -> None:
        self._client = client
        self._session = session_path

    def _at(self, path: str) -> str:
        return f"{self._session}/files/{path_of(path)}"

    async def read_bytes(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """Returns a file, or the part of it from a byte offset on."""
        return (await self._client.send("GET", self._at(path), headers=range_of(offset, length), repeat=True)).content

    async def read(self, path: str) -> str:
        """Returns a text file. It must be UTF-8; read_bytes reads other files."""
        data = await self.read_bytes(path)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InvalidArgumentError(f"{path!r} is not text: byte {error.start} is no UTF-8; use read_bytes", code="not_text", field="path") from None

    async def write(
        self, path: str, data: str | Bytes, *, append: bool = False, mode: str | int | None = None, if_match: str | None = None, if_absent: bool = False,
    ) -> models.FileInfo:
        """Writes a file and makes missing directories. mode is octal text such as "755", or a number such as 0o755.

        With if_match, the etag of the file as it was read, no other client's change is lost: a file that has changed is a PreconditionError.
        With if_absent only a file that is not there is written.
        """
        return await self._put(path, bytes_of(data, "data"), append=append, mode=mode_of(mode), headers=condition(if_match, if_absent))

    async def _put(
        self, path: str, content: bytes | AsyncIterator[bytes], *, append: bool = False, mode: str | None = None, headers: Mapping[str, str] | None = None,
    ) -> models.FileInfo:
        params = {**({"append": "true"} if append else {}), **({"mode": mode} if mode else {})}
        return await self._client.call(
            models.FileInfo, "PUT", self._at(path), content=content, params=params, headers={"content-type": "application/octet-stream", **(headers or {})},
            once=append or bool(headers),
        )

    async def upload(self, source: str | os.PathLike[str] | BinaryIO, path: str, on_progress: Progress | None = None) -> models.FileInfo:
        """Uploads a local file, by its path or opened in binary mode. on_progress gets the bytes sent and the total."""
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as opened:
                return await self._put(path, _chunks(opened, on_progress))
        return await self._put(path, _chunks(_readable(source), on_progress))

    async def download(self, path: str, target: str | os.PathLike[str], on_progress: Progress | None = None) -> int:
        """Downloads to a local file and returns its size. A failed download leaves no file behind."""
        return await self._save(await self._client.send("GET", self._at(path), repeat=True, stream=True), path, target, on_progress)

    async def _save(self, answer: AsyncAnswer, path: str, target: str | os.PathLike[str], on_progress: Progress | None) -> int:
        partial = pathlib.Path(f"{os.fspath(target)}.part")
        size, total = 0, int(answer.header("content-length") or 0) or None
        try:
            with open(partial, "wb") as file:
                async for chunk in answer.chunks():
                    size += file.write(chunk)
                    if on_progress:
                        on_progress(size, total)
            os.replace(partial, target)
        except BROKEN as error:
            raise UnavailableError(f"the download of {path!r} broke off after {size} bytes ({error}); try again", code="unavailable") from error
        finally:
            partial.unlink(missing_ok=True)
            await answer.aclose()
        return size

    async def pack(self, path: str, target: str | os.PathLike[str], on_progress: Progress | None = None) -> int:
        """Downloads what is below a directory as a tar archive, and returns its size. Names and links in it are those of untrusted code."""
        answer = await self._client.send("POST", self._session + "/files/archive", body={"path": path}, repeat=True, stream=True)
        return await self._save(answer, path, target, on_progress)

    async def unpack(self, source: str | os.PathLike[str] | BinaryIO, path: str = "", on_progress: Progress | None = None) -> models.Unpacked:
        """Unpacks a local tar archive into a directory, which is made if necessary. After an error, files unpacked before it stay."""
        async def send(file: BinaryIO) -> models.Unpacked:
            return await self._client.call(
                models.Unpacked, "POST", self._session + "/files/archive", content=_chunks(file, on_progress), params={"path": path},
                headers={"content-type": "application/x-tar"},
            )

        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as opened:
                return await send(opened)
        return await send(_readable(source))

    async def list(self, path: str = "", *, depth: int = 1) -> list[models.FileInfo]:
        """Lists the files below a directory, depth levels deep."""
        pages = self._client.pages(models.FileList, self._session + "/files", {"list": path, "depth": depth})
        return [file async for page in pages for file in page.files or ()]

    async def stat(self, path: str) -> models.FileInfo:
        """Describes a file or a directory."""
        page = await self._client.call(models.FileList, "GET", self._session + "/files", params={"stat": path})
        return (page.files or [])[0]

    async def make_dir(self, path: str) -> models.FileInfo:
        """Makes a directory, and those above it. One that is there stays."""
        return await self._client.call(models.FileInfo, "PUT", self._at(path), params={"directory": "true"})

    async def move(self, path: str, to: str, *, overwrite: bool = False) -> models.FileInfo:
        """Moves a file or a directory. A file that is there is a ConflictError, or with overwrite replaced."""
        return await self._client.call(models.FileInfo, "PATCH", self._at(path), body={"path": to, "overwrite": overwrite})

    async def chmod(self, path: str, mode: str | int) -> models.FileInfo:
        """Changes the permission bits of a file: octal text such as "755", or a number such as 0o755."""
        return await self._client.call(models.FileInfo, "PATCH", self._at(path), body={"mode": mode_of(mode)})

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Removes a file or an empty directory, and with recursive a directory and all in it."""
        await self._client.remove(self._at(path), {"recursive": "true"} if recursive else {})

    async def watch(self, path: str = "", *, recursive: bool = False) -> AsyncIterator[models.FileEventBody]:
        """Yields the changes below a directory, until the directory or the sandbox is gone."""
        params = {"path": path, "recursive": "true" if recursive else "false"}
        async for data in self._client.events(self._session + "/watch", params):
            yield msgspec.json.decode(data, type=models.FileEventBody)


def _readable(source: BinaryIO) -> BinaryIO:
    if not hasattr(source, "read"):
        raise InvalidArgumentError(f"it is of type {type(source).__name__}; give a path or a file", code="invalid_argument", field="source")
    return source


async def _chunks(file: BinaryIO, on_progress: Progress | None) -> AsyncIterator[bytes]:
    try:
        total: int | None = os.fstat(file.fileno()).st_size
    except (OSError, ValueError, AttributeError):
        total = None
    sent = 0
    while chunk := await aio.in_thread(lambda: file.read(_CHUNK)):
        if not isinstance(chunk, bytes):
            raise InvalidArgumentError(f"it reads {type(chunk).__name__}; open it in binary mode", code="invalid_argument", field="source")
        yield chunk
        sent += len(chunk)
        if on_progress:
            on_progress(sent, total)
