// CosId's segment chain in the caller's own process, with its MongoDB distributor: threads take IDs one by one. Prints one
// line of JSON as the other peers do, but without latencies: reading the clock costs more than an ID. "unused" counts the
// IDs that were leased and are lost when the program ends.
// Usage: CosIdPeer URI STEP SECONDS [THREADS]
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoDatabase;
import me.ahoo.cosid.mongo.MongoIdSegmentDistributorFactory;
import me.ahoo.cosid.mongo.MongoIdSegmentInitializer;
import me.ahoo.cosid.segment.IdSegmentDistributor;
import me.ahoo.cosid.segment.IdSegmentDistributorDefinition;
import me.ahoo.cosid.segment.SegmentChainId;

public final class CosIdPeer {
  private static final double WARM_UP_SECONDS = 1; // the compiler of the JVM needs longer than the other peers
  private static final int BATCH = 1000;

  // What one thread took.
  private static final class Taker extends Thread {
    private final SegmentChainId chain;
    private final double seconds;
    private long last;
    private long count;

    Taker(SegmentChainId chain, double seconds) {
      this.chain = chain;
      this.seconds = seconds;
    }

    @Override
    public void run() {
      long end = System.nanoTime() + (long) (seconds * 1e9);
      while (System.nanoTime() < end) {
        for (int i = 0; i < BATCH; ++i) {
          long id = chain.generate();
          if (id <= last) throw new IllegalStateException("an ID twice");
          last = id;
        }
        count += BATCH;
      }
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    long step = Long.parseLong(arguments[1]);
    double seconds = Double.parseDouble(arguments[2]);
    int threads = arguments.length > 3 ? Integer.parseInt(arguments[3]) : 1;
    Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
      error.printStackTrace();
      Runtime.getRuntime().halt(1);
    });
    try (MongoClient client = MongoClients.create(arguments[0])) {
      MongoDatabase database = client.getDatabase("bench_cosid");
      new MongoIdSegmentInitializer(database).ensureCosIdCollection();
      IdSegmentDistributor distributor = new MongoIdSegmentDistributorFactory(database).create(
          new IdSegmentDistributorDefinition("bench", "orders-" + step, IdSegmentDistributor.DEFAULT_OFFSET, step));
      SegmentChainId chain = new SegmentChainId(distributor);
      take(chain, WARM_UP_SECONDS, threads);
      long begin = System.nanoTime();
      Taker[] takers = take(chain, seconds, threads);
      double taken = (System.nanoTime() - begin) / 1e9;
      long count = 0;
      long last = 0;
      for (Taker taker : takers) {
        count += taker.count;
        last = Math.max(last, taker.last);
      }
      long unused = distributor.nextMaxId(step) - step - last;
      System.out.printf("{\"requests_per_s\":%.0f,\"ids_per_s\":%.0f,\"unused\":%d,\"errors\":0,\"first_error\":\"\"}%n",
          count / taken, count / taken, unused);
    }
    System.exit(0); // the threads that lease ahead do not end by themselves
  }

  private static Taker[] take(SegmentChainId chain, double seconds, int threads) throws InterruptedException {
    Taker[] takers = new Taker[threads];
    for (int i = 0; i < threads; ++i) {
      takers[i] = new Taker(chain, seconds);
      takers[i].start();
    }
    for (Taker taker : takers) taker.join();
    return takers;
  }
}
