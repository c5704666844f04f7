//go:build ignore

// Next takes IDs from the seqd daemon of this host. Run it in the folder of the module:
//
//	cd client-lib/go && go run ../examples/next.go orders 3
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	seqd "seqd/client-lib/go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "next:", err)
		if errors.Is(err, seqd.ErrUnavailable) {
			fmt.Fprintln(os.Stderr, "next: the store cannot be reached: try again later")
		}
		os.Exit(1)
	}
}

func run(arguments []string) error {
	name, count := "orders", 1
	var err error
	if len(arguments) > 0 {
		name = arguments[0]
	}
	if len(arguments) > 1 {
		if count, err = strconv.Atoi(arguments[1]); err != nil {
			return err
		}
	}
	client, err := seqd.Open(&seqd.Options{Name: "example"})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ids, err := client.NextMany(ctx, name, count)
	if err != nil {
		return err
	}
	for _, id := range ids {
		fmt.Println(id)
	}
	return nil
}
