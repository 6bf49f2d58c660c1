package main

var kept []*[64]byte

func keep() { kept = append(kept, new([64]byte)) }

func main() { keep() }
