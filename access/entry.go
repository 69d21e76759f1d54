package access

import "time"

// EntryIDPrefix begins the ids of entries.
const EntryIDPrefix = "aud_"

// Decision is the outcome of a request, or says that an entry is about an event that no request asked for. The set is closed.
type Decision string

// The decisions. Their strings are part of the API and never change.
const (
	Allowed Decision = "allowed" // the caller might do it, and it was done
	Denied  Decision = "denied"  // the caller might not do it, or was over a limit
	Failed  Decision = "failed"  // the caller might do it, and it failed
	Event   Decision = "event"   // it happened by itself
)

// Decisions returns every decision.
func Decisions() []Decision { return []Decision{Allowed, Denied, Failed, Event} }

// Entry is one line of the audit log.
type Entry struct {
	ID        string    `json:"id" example:"aud_4tqzplnr3mzsyzsylstojxrtb4"`
	At        time.Time `json:"at" doc:"When the request came, or the event happened."`
	Tenant    string    `json:"tenant,omitempty" doc:"Of the caller, or of the session of an event; absent for a caller that is not known."`
	KeyID     string    `json:"key_id,omitempty" doc:"Of the API key of the caller; absent on a server without keys."`
	Subject   string    `json:"subject,omitempty" doc:"Of the caller, as the issuer of its token names it; absent for the holder of an API key."`
	Address   string    `json:"address,omitempty" doc:"From which the request came."`
	Action    string    `json:"action" doc:"The operation of this document, the tool of MCP behind mcp:, or the kind of event." example:"create-session"`
	SessionID string    `json:"session_id,omitempty" doc:"That the action was about."`
	Target    string    `json:"target,omitempty" doc:"The path of the request, without its query."`
	Decision  Decision  `json:"decision" enum:"allowed,denied,failed,event" doc:"allowed: it was done; denied: the caller might not; failed: it could not be done; event: it happened by itself."`
	Status    int       `json:"status,omitempty" doc:"Of the answer, in HTTP."`
	Detail    string    `json:"detail,omitempty" doc:"Why it was denied, or the event in words."`
	RequestID string    `json:"request_id,omitempty" doc:"Names the request in the server's log."`
	Count     int       `json:"count" doc:"How many requests or events the entry stands for: a flood has one entry a second." minimum:"1"`
}

// By notes the caller of the entry's request.
func (e *Entry) By(caller *Principal) {
	e.Tenant, e.KeyID, e.Subject = caller.Tenant, caller.KeyID, caller.Subject
}
