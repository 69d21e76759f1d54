package access

import (
	"strings"
	"time"
)

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

// DecisionNames lists every decision, separated by commas, as errors and help texts name them.
func DecisionNames() string {
	var names []string
	for _, decision := range Decisions() {
		names = append(names, string(decision))
	}
	return strings.Join(names, ", ")
}

// Entry is one line of the audit log.
type Entry struct {
	ID        string    `json:"id" example:"aud_4tqzplnr3mzsyzsylstojxrtb4"`
	At        time.Time `json:"at" doc:"Time of the request or of the event."`
	Tenant    string    `json:"tenant,omitempty" doc:"Tenant of the caller, or of the event's session; absent for an unknown caller."`
	KeyID     string    `json:"key_id,omitempty" doc:"Id of the caller's API key; absent on a server without keys."`
	Subject   string    `json:"subject,omitempty" doc:"The caller's name in the token of its issuer; absent for the holder of an API key."`
	Address   string    `json:"address,omitempty" doc:"Network address of the client."`
	Action    string    `json:"action" doc:"Operation id of this API, MCP tool with the prefix mcp:, or kind of event." example:"create-session"`
	SessionID string    `json:"session_id,omitempty" doc:"Id of the session that the action concerned."`
	Target    string    `json:"target,omitempty" doc:"The path of the request, without its query."`
	Decision  Decision  `json:"decision" enum:"allowed,denied,failed,event" doc:"allowed: the request was carried out; denied: the caller lacked permission; failed: the request failed; event: not caused by a request."`
	Status    int       `json:"status,omitempty" doc:"HTTP status of the response."`
	Detail    string    `json:"detail,omitempty" doc:"Reason of a denial, or the event in words."`
	RequestID string    `json:"request_id,omitempty" doc:"The request's id in the server's log."`
	Count     int       `json:"count" doc:"Number of requests or events in the entry: a flood has one entry per second." minimum:"1"`
}

// By notes the caller of the entry's request.
func (e *Entry) By(caller *Principal) {
	e.Tenant, e.KeyID, e.Subject = caller.Tenant, caller.KeyID, caller.Subject
}
