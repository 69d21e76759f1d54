package sessioncmd

import (
	"context"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/cmd/yurt/internal/cli"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

const (
	wholeID = len(yurt.SessionIDPrefix) + 26 // characters of an id that the server made
	// maxCandidates bounds how many sessions an ambiguous id names.
	maxCandidates = 5
)

// clientFor returns a client of the server, and completes *sessionID, which a person wrote.
func (a *app) clientFor(ctx context.Context, sessionID *string) (*yurtclient.Client, error) {
	client, err := a.Client()
	if err != nil {
		return nil, err
	}
	*sessionID, err = findSession(ctx, client, *sessionID)
	return client, err
}

// findSession returns the id of the one session whose id begins with the user's text, with or
// without "ses_". A whole id is returned as it is, without asking the server.
func findSession(ctx context.Context, client *yurtclient.Client, written string) (string, error) {
	prefix := cli.IDPrefix(written)
	if len(prefix) >= wholeID {
		return prefix, nil
	}
	if prefix != yurt.SessionIDPrefix && !yurt.ValidID(yurt.SessionIDPrefix, prefix) {
		return "", yurt.Errorf(yurt.CodeSessionNotFound, "%q is not the id of a session; ids have the letters a to z and digits, such as %s4q7kz2m5x3nd", written, yurt.SessionIDPrefix)
	}
	page, err := client.Sessions(ctx, yurtclient.SessionFilter{IDPrefix: prefix, Limit: maxCandidates + 1})
	if err != nil {
		return "", err
	}
	switch len(page.Sessions) {
	case 0:
		return "", yurt.Errorf(yurt.CodeSessionNotFound, "there is no session %s; \"yurt session list --all\" lists those there are", prefix)
	case 1:
		return page.Sessions[0].ID, nil
	}
	var candidates []string
	for _, session := range page.Sessions {
		candidates = append(candidates, session.ID+" ("+string(session.State)+")")
	}
	if len(candidates) > maxCandidates {
		candidates[maxCandidates] = "and others"
	}
	return "", yurt.Errorf(yurt.CodeInvalidArgument, "%s may be %s; give more of the id", written, strings.Join(candidates, ", "))
}
