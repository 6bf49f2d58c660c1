package refscan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

type account struct {
	Password string
	User     string
	Note     string
	DSN      string
	URL      string
	next     *account
	ID       int64
	Balance  int16
	PinToken int
}

type point struct{ X, Y, Z int64 }

// a type, and not its fields, has the name of a secret
type cookie struct{ Name, Value string }

type session struct {
	User    string
	Session string
}

var (
	xAccounts []*account
	xPoints   []*point
	xIndexes  []map[string]*point
	xSecrets  []map[string]*point // by token
	xLines    []string
	xPicked   []*string
	xBoxed    []any
	xPairs    []*[2]string
	xCookies  []*cookie
	xTokens   map[string]*point
	xSessions []*session
)

// TestExamples shows what is in objects: short, printable strings and numbers, and nothing whose
// name is that of a secret.
func TestExamples(t *testing.T) {
	for i := range 5 {
		xAccounts = append(xAccounts, &account{
			Password: "hunter2", User: fmt.Sprint("u", i), Note: strings.Repeat("long", 20), DSN: "x", URL: "pg://ada:pw@db", ID: int64(i), Balance: -7, PinToken: 1234,
		})
		xPoints = append(xPoints, &point{int64(i + 1), -3, 0})
		xIndexes = append(xIndexes, map[string]*point{fmt.Sprint("place ", i): xPoints[0]})
		xSecrets = append(xSecrets, map[string]*point{fmt.Sprint("abc", i): xPoints[0]})
		xLines = append(xLines, fmt.Sprint("a line of the log, number ", i))
		alone := fmt.Sprint("alone", i)
		xPicked, xBoxed, xPairs = append(xPicked, &alone), append(xBoxed, alone), append(xPairs, &[2]string{alone, "b"})
		xCookies = append(xCookies, &cookie{"sid", alone})
		xSessions = append(xSessions, &session{fmt.Sprint("u", i), alone})
	}
	xTokens = map[string]*point{"a": {X: 1}, "b": {X: 2}}
	xAccounts[0].User = "u\x00\xff"
	xAccounts[4].next = xAccounts[3]
	defer func() {
		xAccounts, xPoints, xIndexes, xSecrets, xLines = nil, nil, nil, nil, nil
		xPicked, xBoxed, xPairs, xCookies, xTokens, xSessions = nil, nil, nil, nil, nil, nil
	}()
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for path, want := range map[string]string{
		"xAccounts[*]": `{Balance: -7}, {User: "u1", ID: 1, Balance: -7}, {User: "u2", ID: 2, Balance: -7}`,
		"xPoints[*]":   "{X: 1, Y: -3}, {X: 2, Y: -3}, {X: 3, Y: -3}",
		"xIndexes[*]":  `{"place 0"}, {"place 1"}, {"place 2"}`,
		"xLines[*]":    "", // the memory of a string may be longer than the string
		"xSecrets[*]":  "",
		"xPicked[*]":   "", // a string alone has no name that tells whether it is a secret
		"xBoxed[*]":    "",
		"xPairs[*]":    "",
		"xCookies[*]":  "",
		"xTokens[*]":   "", // the path has such a name
		"xSessions[*]": `{User: "u0"}, {User: "u1"}, {User: "u2"}`,
	} {
		asked, got := 0, ""
		e, err := s.Elsewhere(nil, func(p, _ string) bool {
			if p == pkg+path {
				asked++
			}
			return p == pkg+path
		})
		require.NoError(t, err)
		require.Positive(t, asked, path)
		if e != nil {
			got = e.Examples
		}
		require.Equal(t, want, got, path)
	}
}
