// A server that watches its own live heap. It has a cache of 10 MB for as long as it runs; a
// request for /rand ends at once, and a request for /spike holds 10 MB until the client has read
// all of it:
//
//	go run .
//	curl localhost:8080/rand
//	curl --limit-rate 100K -o /dev/null localhost:8080/spike
//
// The report appears in the log at the next garbage collection.
package main

import (
	"log"
	"math/rand/v2"
	"net/http"
	"os"

	"github.com/leakgate/leakgate/refscan/spike"
)

const (
	mb  = 1 << 20
	row = 100 << 10
)

// cache is memory that the server needs all the time.
var cache = make([]byte, 10*mb)

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /rand", steady)
	mux.HandleFunc("GET /spike", export)
	return mux
}

// steady answers with some bytes, which are garbage when it returns.
func steady(w http.ResponseWriter, _ *http.Request) {
	b := make([]byte, row)
	for i := range b {
		b[i] = byte('a' + rand.IntN(26))
	}
	cache[rand.IntN(len(cache))] = b[0]
	_, _ = w.Write(b)
}

// export makes all rows before it sends the first.
func export(w http.ResponseWriter, _ *http.Request) {
	var rows [][]byte
	for range 10 * mb / row {
		rows = append(rows, makeRow())
	}
	for i := range rows {
		if _, err := w.Write(rows[i]); err != nil {
			return
		}
	}
	log.Printf("sent %d rows", len(rows))
}

func makeRow() []byte { return make([]byte, row) }

// watch calls tell when the live heap is larger than usual by half: that is a spike.
func watch(tell func(*spike.Spike)) (*spike.Watcher, error) {
	return spike.Start(spike.Config{Share: 0.5, OnSpike: tell})
}

func main() {
	watcher, err := watch(func(s *spike.Spike) {
		log.Print(s)
		if folder, err := s.WriteFolder(os.TempDir()); err == nil {
			log.Printf("see %s", folder)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer watcher.Stop()
	log.Print(http.ListenAndServe("localhost:8080", handler()))
}
