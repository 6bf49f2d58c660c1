// Package held is for programs that tests start: it prints what a snapshot finds in its own process.
package held

import (
	"encoding/json"
	"log"
	"os"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// Print takes a snapshot, and prints the totals and the numbers of objects by what name returns for
// their nodes. It leaves out nodes without a name.
func Print(name func(path string, n *refscan.Node) string) {
	s, err := refscan.Capture()
	if err != nil {
		log.Fatal(err)
	}
	r, err := s.Scan()
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	out := struct {
		Totals refscan.Totals
		Held   map[string]int64
	}{r.Totals, map[string]int64{}}
	var walk func(string, *refscan.Node)
	walk = func(path string, n *refscan.Node) {
		path = symbol.JoinPath(path, n.Name)
		if name := name(path, n); name != "" && n.Objects > 0 {
			out.Held[name] += n.Objects
		}
		for _, c := range n.Children {
			walk(path, c)
		}
	}
	for _, n := range r.Fold().Roots {
		walk("", n)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}
