// Package notebook tests that a notebook has the same results through Yurt as through ipykernel,
// cell by cell: output, errors, and displays in every MIME type.
package notebook
