// Package contract holds the REST API to its OpenAPI document. A [Document] checks every answer
// that passes a transport; the package's tests let programs that others wrote (client generators,
// schemathesis) read the document and use a real server by it.
package contract
