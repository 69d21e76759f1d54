// Package images keeps container images for sandboxes to have as their root file systems.
//
// An image comes from a registry, or from a directory in the OCI layout, if the operator
// allows that one. What a reference means is asked there once, and again when somebody
// wants it fresh; the manifest for this platform is known by its digest from then on, and
// everything that is downloaded is checked against the digests in it. Its layers are put
// on top of each other in one directory, which never changes and which many sandboxes
// read, like those of executor/layers: whole or not there at all, held by who uses it, and
// removed, the one that was not used for longest first, when all take too much room.
//
// An image is hostile: whoever made it wants files elsewhere, or all of the disk. Nothing
// in it is owned by anyone but root, has privileges, or is a device.
package images
