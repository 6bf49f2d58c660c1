package refscan_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
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
	p := heaptest.Capture(t)
	defer func() { require.NoError(t, p.Close()) }()
	paths := make(attribute.Paths)
	asked, texts := make(map[string]int), make(map[string][]string)
	attribute.Run(p.Heap, p.Program(), attribute.Options{Charged: func(n *attribute.Node, obj uint32, objects, _ int64) {
		if path, ok := strings.CutPrefix(paths.Of(n), pkg); ok && objects > 0 && obj < p.Heap.AnonymousBase() {
			asked[path]++
			if text := refscan.ExampleOf(p.Heap, p.Index(), obj, paths.Of(n)); text != "" {
				texts[path] = append(texts[path], text)
			}
		}
	}})
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
		require.Positive(t, asked[path], path)
		list := texts[path]
		sort.Slice(list, func(i, j int) bool {
			return len(list[i]) < len(list[j]) || len(list[i]) == len(list[j]) && list[i] < list[j]
		})
		list = slices.Compact(list)
		got := strings.Join(list[:min(len(list), 3)], ", ")
		require.Equal(t, want, got, path)
	}
}
