package seqd_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	seqd "seqd/client-lib/go"
)

func Example() {
	client, err := seqd.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	id, err := client.Next(context.Background(), "orders")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}

func ExampleClient_Range() {
	client, err := seqd.Open(&seqd.Options{Name: "import"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	runs, err := client.Range(context.Background(), "orders", 10_000)
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range runs {
		for i := int64(0); i < run.Count; i++ {
			fmt.Println(run.First + i*run.Step)
		}
	}
}

func ExampleError() {
	client, err := seqd.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err = client.Next(ctx, "orders")
	var e *seqd.Error
	switch {
	case err == nil:
	case errors.Is(err, seqd.ErrNoSequence):
		fmt.Println("the configuration has no such sequence")
	case errors.As(err, &e) && e.Temporary():
		fmt.Println("try again later:", e.Code, e.Text)
	default:
		fmt.Println(err)
	}
}

func ExampleClient_InsertUnique() {
	client, err := seqd.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	person := struct {
		Email string    `msgpack:"email"`
		Since time.Time `msgpack:"since"`
	}{"ada@example.org", time.Now()}
	id, err := client.InsertUnique(context.Background(), "people", person, "email")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}

// A program that had a type with a cached block of 25 IDs in MongoDB, and a method Next.
func ExampleSequence() {
	client, err := seqd.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var events interface {
		Next(context.Context) (int64, error)
	} = client.Sequence("events")
	id, err := events.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}

func ExampleClient_CallInto() {
	client, err := seqd.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var explained struct {
		Answer string `msgpack:"answer"`
		Text   string `msgpack:"text"`
	}
	if err := client.CallInto(context.Background(), &explained, "explain", "orders", 4711); err != nil {
		log.Fatal(err)
	}
	fmt.Println(explained.Answer, explained.Text)
}
