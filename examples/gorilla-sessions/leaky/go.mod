module example.com/visits

go 1.26.0

replace github.com/leakgate/leakgate => ../../..

require (
	github.com/gorilla/sessions v1.1.3
	github.com/leakgate/leakgate v0.0.0-00010101000000-000000000000
)

require (
	github.com/gorilla/context v1.1.1 // indirect
	github.com/gorilla/securecookie v1.1.1 // indirect
)
