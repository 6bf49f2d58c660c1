// Version takes a snapshot of itself and prints what keeps it from that.
package main

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan"
)

func main() {
	s, err := refscan.Capture()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("captured", s.Close())
}
