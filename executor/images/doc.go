// Package images keeps container images, which are the root file systems of sandboxes.
//
// An image comes from a registry, or from a directory in the OCI layout, if the operator allows that one. A reference is
// resolved there once, and again when a caller wants it fresh; the manifest for this platform is then known by its digest, and
// every download is checked against the digests in it. The image's layers are put on top of each other in one directory, which
// never changes and which many sandboxes read, like others of executor/trees: whole or not there at all, held by its users, and
// removed, the least recently used one first, when all take too much room.
//
// An image is hostile: its maker wants to write files elsewhere, or to fill the disk. In the unpacked tree all files belong to
// root, and no file has privileges or is a device.
package images
