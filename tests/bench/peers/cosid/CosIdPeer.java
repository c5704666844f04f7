// CosId's segment chain in the caller's own process, with its MongoDB distributor: one thread takes IDs one by one. Prints one
// line of JSON as the other peers do, but without latencies: reading the clock costs more than an ID. "unused" counts the
// IDs that were leased and are lost when the program ends.
// Usage: CosIdPeer URI STEP SECONDS
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

  private static long last;

  public static void main(String[] arguments) {
    long step = Long.parseLong(arguments[1]);
    double seconds = Double.parseDouble(arguments[2]);
    try (MongoClient client = MongoClients.create(arguments[0])) {
      MongoDatabase database = client.getDatabase("bench_cosid");
      new MongoIdSegmentInitializer(database).ensureCosIdCollection();
      IdSegmentDistributor distributor = new MongoIdSegmentDistributorFactory(database).create(
          new IdSegmentDistributorDefinition("bench", "orders-" + step, IdSegmentDistributor.DEFAULT_OFFSET, step));
      SegmentChainId chain = new SegmentChainId(distributor);
      take(chain, WARM_UP_SECONDS);
      long begin = System.nanoTime();
      long count = take(chain, seconds);
      double taken = (System.nanoTime() - begin) / 1e9;
      long unused = distributor.nextMaxId(step) - step - last;
      System.out.printf("{\"requests_per_s\":%.0f,\"ids_per_s\":%.0f,\"unused\":%d,\"errors\":0,\"first_error\":\"\"}%n",
          count / taken, count / taken, unused);
    }
    System.exit(0); // the threads that lease ahead do not end by themselves
  }

  private static long take(SegmentChainId chain, double seconds) {
    long end = System.nanoTime() + (long) (seconds * 1e9);
    long count = 0;
    while (System.nanoTime() < end) {
      for (int i = 0; i < BATCH; ++i) {
        long id = chain.generate();
        if (id <= last) throw new IllegalStateException("an ID twice");
        last = id;
      }
      count += BATCH;
    }
    return count;
  }
}
