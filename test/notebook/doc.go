// Package notebook tests that a notebook has the same results through Yurt as through
// ipykernel, cell by cell: output, errors, and what is shown in every MIME type.
package notebook
