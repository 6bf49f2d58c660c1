// Program shop is of a module whose path has no dot, as only the standard library's packages have
// where the program's modules are not known.
package main

import (
	"fmt"
	"time"

	"shop/store"
)

var block = make(chan int)

// each waits in a loop over a list that nothing else has any more.
func each(o *store.Store, ready func()) {
	sum := 0
	for _, s := range o.Shelf.Sessions {
		o.Shelf = nil
		ready()
		<-block
		sum += s.ID
	}
	fmt.Println(sum)
}

func main() {
	go each(store.New(), func() { fmt.Println("ready 26") })
	time.Sleep(time.Hour)
}
