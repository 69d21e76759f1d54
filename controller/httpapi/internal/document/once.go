package document

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/yurtrun/yurt/controller/once"
)

// OperationCreate has idempotency keys of its own, which belong to the session.
const OperationCreate = "create-session"

// TakesKey reports whether an operation is carried out once for each idempotency key.
func TakesKey(op *huma.Operation) bool {
	return op.Method == http.MethodPost && op.OperationID != OperationCreate
}

// AddKey documents the header with the idempotency key.
func AddKey(op *huma.Operation) {
	if !TakesKey(op) {
		return
	}
	longest := once.MaxKey
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: once.Header, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest},
		Description: "A request that is repeated with the same key within a day is not executed again and gets the first response. " +
			"The code is `idempotency_conflict` if the request differs from the first one, or if the first one's response was not kept. A refused request frees its key.",
	})
}
