// Command client asks a server for something, once or more often.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
)

func main() {
	socket, what, times := os.Args[1], os.Args[2], 1
	if len(os.Args) > 3 {
		times, _ = strconv.Atoi(os.Args[3])
	}
	if what == "fail" {
		fmt.Println("this did not work")
		os.Exit(7)
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		if what == "end" {
			return // it did
		}
		fmt.Println(err)
		os.Exit(1)
	}
	answers := bufio.NewReader(c)
	for range times {
		_, _ = fmt.Fprintln(c, what)
		if _, err := answers.ReadString('\n'); err != nil && what != "end" {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}
