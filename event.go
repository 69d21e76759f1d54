package yurt

import (
	"bytes"
	"encoding/json"
)

// EventTimeoutKey is the member of a handler's event that sets the timeout of the
// execution. It is an instruction to Yurt and not part of the business data.
const EventTimeoutKey = "__timeout"

// TakeEventTimeout moves [EventTimeoutKey] from the event into s.Timeout, where it wins over the
// timeout of the request. An event that is not a JSON object, or holds no such key, stays as it is;
// the other members keep their order and spelling. The value is a number of seconds or a string
// such as "30s", within the bounds of every execution timeout; else the error is about the field
// "event.__timeout" and s is unchanged.
func (s *ExecutionSpec) TakeEventTimeout() error {
	members, ok := eventMembers(s.Event)
	if !ok {
		return nil
	}
	var (
		kept    = make([]byte, 0, len(s.Event))
		timeout = s.Timeout
		found   bool
	)
	for _, m := range members {
		if m.key == EventTimeoutKey {
			if err := parseEventTimeout(m.value, &timeout); err != nil {
				return err
			}
			found = true
			continue
		}
		if len(kept) > 0 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, m.rawKey...), ':'), m.value...)
	}
	if found {
		s.Timeout = timeout
		s.Event = append(append([]byte{'{'}, kept...), '}')
	}
	return nil
}

func parseEventTimeout(value []byte, into *Duration) error {
	const field = "event." + EventTimeoutKey
	var timeout Duration
	if err := timeout.UnmarshalJSON(value); err != nil {
		return FieldErrorf(CodeOf(err), field, "the value is not a duration; give seconds, or a string such as \"30s\"")
	}
	if err := validateExecutionTimeout(field, timeout); err != nil {
		return err
	}
	*into = timeout
	return nil
}

type eventMember struct {
	key    string
	rawKey []byte // as JSON
	value  json.RawMessage
}

// eventMembers splits a JSON object into its members. ok is false when event is no
// object, is not JSON, or certainly lacks [EventTimeoutKey], which spares the
// common event the parsing.
func eventMembers(event []byte) (members []eventMember, ok bool) {
	if !bytes.HasPrefix(bytes.TrimLeft(event, " \t\r\n"), []byte{'{'}) {
		return nil, false
	}
	escaped := bytes.Contains(event, []byte(`\u`)) // the key may be spelled with escapes
	if !escaped && !bytes.Contains(event, []byte(EventTimeoutKey)) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(event))
	if _, err := decoder.Token(); err != nil {
		return nil, false
	}
	for decoder.More() {
		var m eventMember
		token, err := decoder.Token()
		if err != nil {
			return nil, false
		}
		m.key, _ = token.(string)
		if m.rawKey, err = json.Marshal(m.key); err != nil {
			return nil, false
		}
		if err := decoder.Decode(&m.value); err != nil {
			return nil, false
		}
		members = append(members, m)
	}
	return members, true
}
